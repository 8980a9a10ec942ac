// Elements without markup: whatever comes from the daemon becomes text and nothing else.

/** el("p", {class: "x", text: "y", on: {click}}, child, ...); other properties are attributes. */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "on") listen(node, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function listen(node, handlers) {
  for (const [event, handler] of Object.entries(handlers)) node.addEventListener(event, handler);
}

export function by(id) {
  return document.getElementById(id);
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const signatures = new WeakMap();

/**
 * Makes the children of `parent` those that `make` makes of `items`. A child whose item is the same
 * stays as it is and where it is, and with it the focus of whoever is using it.
 */
export function keep(parent, items, keyOf, make) {
  const old = new Map([...parent.children].map((child) => [signatures.get(child), child]));
  const wanted = items.map((item) => {
    const signature = JSON.stringify([keyOf(item), item]);
    const child = old.get(signature) ?? make(item);
    signatures.set(child, signature);
    return child;
  });
  const stay = new Set(wanted);
  for (const child of [...parent.children]) if (!stay.has(child)) child.remove();
  wanted.forEach((child, at) => {
    if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
  });
}

export function pill(text, mood) {
  return el("span", { class: `pill ${mood}`, text });
}
