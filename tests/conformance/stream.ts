import { get, type IncomingHttpHeaders } from 'node:http';
import { until } from '../support/until.ts';
import { type Entry, entriesOf } from './skeleton.ts';

/** An open event stream: every frame as it came over the wire. */
export interface Stream {
  headers: IncomingHttpHeaders;
  frames(): string[];
  entries(): Entry[];
  /** waits for the `count`th entry whose label starts with `label` */
  reached(label: string, count?: number): Promise<Entry>;
  close(): void;
}

/** `GET` of an events address; `headers` carry the token unless the address does. */
export function openStream(url: string, headers: Record<string, string> = {}): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`${url} answered ${response.statusCode}`));
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      // closing is the client's doing
      response.on('error', () => {});
      const frames = () =>
        text
          .split('\n\n')
          .slice(0, -1)
          .map((frame) => `${frame}\n\n`);
      const entries = () => entriesOf(frames());
      resolve({
        headers: response.headers,
        frames,
        entries,
        reached: (label, count = 1) =>
          until(
            `${count} × ${label}`,
            () => entries().filter((entry) => entry.label.startsWith(label))[count - 1],
            60_000,
          ),
        close: () => request.destroy(),
      });
    });
    request.on('error', reject);
  });
}
