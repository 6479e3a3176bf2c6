/**
 * An error that a person caused or can mend. `message` says what is wrong and what to do; a command prints it without a
 * stack. Any other error is a defect of ours.
 */
export class UserError extends Error {
  override readonly name: string = 'UserError';
  /** Exit code of the command; 2 for what a service must not start again and again. */
  readonly exitCode: number = 1;
}
