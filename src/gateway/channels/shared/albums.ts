import type { PendingMessage } from './pending.ts';

/** A phone uploads the pictures of an album one after the other. After this long without another, none is waited for. */
const ALBUM_QUIET_MS = 20_000;

/** The pictures that belong to an announced album. Older phones do not name it, so whatever follows it counts. */
const picturesOf = (album: PendingMessage, all: readonly PendingMessage[]): PendingMessage[] =>
  all.filter(
    (each) =>
      each.pictured &&
      each.author === album.author &&
      (each.album === album.album || (each.album === null && each.seq > album.seq)),
  );

/** Whether a message announced an album of which nothing has come. */
export const isBareAlbum = (message: PendingMessage, all: readonly PendingMessage[]): boolean =>
  message.announces !== null && picturesOf(message, all).length === 0;

/** Whether the albums that are announced in `run` are here, as far as they will come. `all`: what the chat has. */
export function hasAllOfAlbums(run: readonly PendingMessage[], all: readonly PendingMessage[], now: number): boolean {
  return run.every((album) => {
    if (album.announces === null) return true;
    const pictures = picturesOf(album, all);
    const newest = pictures.reduce((latest, each) => Math.max(latest, each.at), album.at);
    // a time in the future means that the clock was set back
    return pictures.length >= album.announces || now - newest >= ALBUM_QUIET_MS || newest > now + ALBUM_QUIET_MS;
  });
}

/** What the model is told of albums of which something is missing. */
export const albumNotes = (albums: readonly PendingMessage[], said: readonly PendingMessage[]): string[] =>
  albums.flatMap((album) => {
    const came = picturesOf(album, said).length;
    return came < album.announces!
      ? [`[Of an album of ${album.announces} pictures and videos, ${came} arrived with this message.]`]
      : [];
  });

/** The messages with their pictures numbered, where there are several. */
export function numbered(said: readonly PendingMessage[]): readonly PendingMessage[] {
  const ends = /\[picture(?=, [\d.]+ [kM]B\]$)/;
  if (said.filter(({ prepared }) => ends.test(prepared!.text)).length < 2) return said;
  let number = 0;
  return said.map((each) => {
    const text = each.prepared!.text.replace(ends, (begin) => `${begin} ${++number}`);
    return { ...each, prepared: { ...each.prepared!, text } };
  });
}
