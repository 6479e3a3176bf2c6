/** Why a request cannot be accepted. Clients of the runtime API know the text of `message`. */
export class IntakeError extends Error {
  readonly code: 'not_found' | 'conflict' | 'invalid' | 'reused';
  constructor(code: IntakeError['code'], message: string) {
    super(message);
    this.name = 'IntakeError';
    this.code = code;
  }
}
