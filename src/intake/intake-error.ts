/** Why a request cannot be taken; `message` is the text that clients of the runtime API know. */
export class IntakeError extends Error {
  readonly code: 'not_found' | 'conflict' | 'invalid' | 'reused';
  constructor(code: IntakeError['code'], message: string) {
    super(message);
    this.name = 'IntakeError';
    this.code = code;
  }
}
