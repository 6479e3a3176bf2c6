/** A home cannot be moved; `message` is for the person. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
}
