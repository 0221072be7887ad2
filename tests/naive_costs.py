"""Slow, obvious twins of what a price table computes."""


def needed_resources(model, name):
    """All resources that a feature or resource needs, by following every need from scratch."""
    direct = next(price.needs for price in (*model.features, *model.resources) if price.name == name)
    needed = set()
    for need in direct:
        needed |= {need} | needed_resources(model, need)
    return needed


def full_cost(model, names):
    """What a row pays for `names`: each feature, then each resource of their union once."""
    resources = set()
    for name in names:
        resources |= needed_resources(model, name)
    total = 0.0
    for feature in model.features:
        if feature.name in names:
            total += feature.cost
    for resource in model.resources:
        if resource.name in resources:
            total += resource.cost
    return total
