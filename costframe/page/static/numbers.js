// Numbers that people type: the rule of `read_typed` in costframe/core/numerals.py, by its patterns.

class TypedNumbers {
  constructor(patterns) {
    const whole = ([sign, pattern]) => [sign, new RegExp(`^(?:${pattern})$`, "u")];
    this.patterns = Object.fromEntries(Object.entries(patterns).map(whole));
  }

  // The number that a text is; an error says what is wrong with it.
  read(given) {
    const text = given.trim();
    const either = this.patterns.either.exec(text);
    if (either?.[1] === ",") {
      const [number, whole] = [text.replace(",", "."), text.replace(",", "")];
      throw new Error(`${text} can be ${number} or ${whole}; write ${number} or ${whole}`);
    }
    for (const decimal of [".", ","]) {
      const found = this.patterns[decimal].exec(text);
      if (!found) continue;
      const between = found.groups.sign;
      const plain = between === undefined ? text : text.replaceAll(between, "");
      const number = Number(plain.replace(decimal, ".").replace("−", "-"));
      if (Number.isFinite(number)) return number;
    }
    throw new Error("expected a number, as 1234.5 or 1234,5");
  }
}
