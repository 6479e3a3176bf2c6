/** Emits the stanzas of a chat in the order of their arrival. */
interface ArrivalOrder {
  /**
   * `keys`: what must be settled before the next message of this chat; with `queued`, Baileys keeps the order itself,
   * and only later messages wait
   */
  pass(chat: string, keys: readonly string[], queued: boolean, emit: () => void): void;
  settled(key: string): void;
  /** lets nothing wait for earlier messages */
  clear(): void;
}

/** A message that is never settled (Baileys refused its stanza) delays its chat no longer than this. */
const PATIENCE_MS = 15_000;

/**
 * Baileys looks up addresses before it queues a message for decryption, so a message can overtake the one before it,
 * and a live one a whole queue after an outage. Here the next message of a chat waits until the previous one is
 * decrypted and stored.
 */
export function createArrivalOrder(patienceMs = PATIENCE_MS): ArrivalOrder {
  const gates = new Map<string, Promise<void>>();
  const settling = new Map<string, () => void>();

  const settledOrLate = (keys: readonly string[]): Promise<void> =>
    new Promise((resolve) => {
      const left = new Set(keys);
      const end = (): void => {
        clearTimeout(timer);
        for (const key of left) settling.delete(key);
        resolve();
      };
      const timer = setTimeout(end, patienceMs);
      timer.unref();
      for (const key of keys) {
        settling.set(key, () => {
          left.delete(key);
          settling.delete(key);
          if (left.size === 0) end();
        });
      }
    });

  return {
    pass(chat, keys, queued, emit) {
      const before = gates.get(chat);
      // registered before the stanza is emitted, because it may be settled within the call
      const settledNow = queued || !before ? settledOrLate(keys) : null;
      if (settledNow) emit();
      const done =
        settledNow ??
        before!.then(() => {
          const settled = settledOrLate(keys);
          emit();
          return settled;
        });
      const gate = before ? Promise.all([before, done]).then(() => {}) : done;
      gates.set(chat, gate);
      void gate.then(() => {
        if (gates.get(chat) === gate) gates.delete(chat);
      });
    },
    settled: (key) => settling.get(key)?.(),
    clear() {
      gates.clear();
      for (const settle of [...settling.values()]) settle();
    },
  };
}
