/**
 * An expected refusal. `message` says what was wrong and what to do, and becomes the output of an answer with `ok:
 * false`.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
}

/** A refusal whose message holds no word of the workspace, not even the name of a file or a branch. */
export class OwnRefusal extends Refusal {
  override readonly name = 'OwnRefusal';
}
