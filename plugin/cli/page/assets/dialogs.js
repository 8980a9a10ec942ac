// The two questions that are asked before something is decided.

import { setText } from "./dom.js";

export class Question {
  #dialog;
  #form;
  #send = null;

  constructor(dialog) {
    this.#dialog = dialog;
    this.#form = dialog.querySelector("form");
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answer();
    });
    this.#form.querySelector("[value=cancel]").addEventListener("click", () => dialog.close());
  }

  get fields() {
    return this.#form.elements;
  }

  part(selector) {
    return this.#form.querySelector(selector);
  }

  /** `send(fields)` resolves when it is done; an error of it is shown and the question stays. */
  ask(about, send) {
    this.#form.reset();
    this.#send = send;
    setText(this.part(".about"), about);
    this.#say("");
    this.#dialog.showModal();
  }

  #say(text) {
    setText(this.part("[role=alert]"), text);
  }

  async #answer() {
    const submit = this.part("[type=submit]");
    submit.disabled = true;
    this.#say("");
    try {
      await this.#send(this.fields);
      this.#dialog.close();
    } catch (error) {
      this.#say(error.message);
    } finally {
      submit.disabled = false;
    }
  }
}
