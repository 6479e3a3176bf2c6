// Stack traces name the lines of the sources. Node's own way (`--enable-source-maps`) reads the map of each file when
// it is loaded, and keeps it: 10 MB in each process. These are read when an error is shown.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Errors come in bursts, and maps are large. */
const KEPT_MS = 10_000;

/** Shows places in the files of this folder (a URL that ends with a slash) as places in what they were made of. */
export function nameSources(folder) {
  const maps = new Map();
  const mapOf = (url) => {
    if (!maps.has(url)) {
      maps.set(url, read(`${url}.map`));
      setTimeout(() => maps.delete(url), KEPT_MS).unref();
    }
    return maps.get(url);
  };
  const places = new RegExp(`${RegExp.escape(folder)}[^/:]+\\.js:\\d+:\\d+`, 'g');
  const source = (place) => {
    const [, url, line, column] = /^(.*):(\d+):(\d+)$/.exec(place);
    const found = mapOf(url)?.findOrigin(Number(line), Number(column));
    return found?.fileName ? `${new URL(found.fileName, url).href}:${found.lineNumber}:${found.columnNumber}` : place;
  };
  // a worker tries its workflows in a context of their own, and drops the error: reading maps for it would cost a third
  // of a second
  const shown = (error, frame) => (error instanceof Error ? frame.replace(places, source) : frame);
  Error.prepareStackTrace = (error, frames) =>
    [`${error}`, ...frames.map((frame) => shown(error, `    at ${frame}`))].join('\n');
}

function read(url) {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(url), 'utf8')));
  } catch {
    return undefined;
  }
}
