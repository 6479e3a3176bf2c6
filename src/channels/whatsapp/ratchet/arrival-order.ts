/** Emits the stanzas of a chat in the order of their arrival. */
export interface ArrivalOrder {
  /** `keys` name what has to be settled before the next of this chat; with `queued`, Baileys keeps the order itself, and only those that come later wait */
  pass(chat: string, keys: readonly string[], queued: boolean, emit: () => void): void;
  settled(key: string): void;
  /** lets nobody wait for what came before */
  clear(): void;
}

/** A message that was never settled (Baileys refused its stanza) holds its chat up no longer than this. */
const PATIENCE_MS = 15_000;

/**
 * Baileys looks up addresses before it gets in line to decrypt, so a message can overtake the one before it, and a live one overtakes
 * a whole queue from the time of an outage. Here the next message of a chat waits until the one before is decrypted and stored.
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
      // registered before the stanza goes out: it may be settled within the call
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
