/**
 * Whether this container may work. An engine that dies while it starts a container may leave it running without knowing
 * of it. So a container whose run waits begins only when it reads its own token, and ends when it reads another one.
 */
export class StartToken {
  /** the container may work and write the log */
  confirmed: boolean;
  private readonly own: string | undefined;
  private readonly told = Promise.withResolvers<void>();
  private upToDate = false;

  constructor(own: string | undefined, waits: boolean) {
    this.own = own;
    this.confirmed = !waits;
  }

  /** A container of this run was told to begin. */
  take(token: string): void {
    if (this.confirmed) return;
    if (token === this.own) {
      this.confirmed = true;
      this.told.resolve();
    } else if (this.upToDate) process.exit(1);
  }

  /** Tokens from before this container started were meant for an earlier one. What comes from now on counts. */
  caughtUp(): void {
    this.upToDate = true;
  }

  async untilConfirmed(): Promise<void> {
    if (!this.confirmed) await this.told.promise;
  }
}
