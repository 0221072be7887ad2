// Begin with the model in the page.

function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function unpack(text) {
  const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const model = await LocalModel.load(data, await unpack(data.engine), await unpack(data.memory));
  window.page = new AskPage(model);
  await window.page.start({});
  performance.mark("asked");
})();
