/** An expected refusal. `message` says what was wrong and what to do, and becomes the output of an answer with `ok: false`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
