import { styleText } from 'node:util';
import type { Progress } from '../../../temporal/folders.ts';

/** Progress of a start, for the person or the log. */
export interface Reporter {
  /** may be called many times a second */
  progress(progress: Progress): void;
  /** a step is done */
  done(text: string): void;
  warn(text: string): void;
}

/** Lines on a terminal; the current one is redrawn in place while something takes its time. */
export function terminalReporter(out: NodeJS.WriteStream = process.stdout): Reporter {
  let open = false;
  let drawn = 0;
  const clear = () => {
    if (open) out.write('\r\x1b[2K');
    open = false;
  };
  const line = (mark: string, text: string) => {
    clear();
    out.write(`${mark} ${text}\n`);
  };
  return {
    progress: (progress) => {
      if (open && Date.now() - drawn < 80 && progress.done !== progress.total) return;
      clear();
      out.write(`${styleText('dim', '…')} ${describe(progress)}`.slice(0, (out.columns || 120) + 8));
      open = true;
      drawn = Date.now();
    },
    done: (text) => line(styleText('green', '✓'), text),
    warn: (text) => line(styleText('yellow', '!'), text),
  };
}

/** For a person who waits: redrawn in place on a terminal, plain lines elsewhere. */
export const personReporter = (): Reporter =>
  process.stdout.isTTY
    ? terminalReporter()
    : logReporter({
        info: (text) => void process.stdout.write(`${text}\n`),
        warn: (text) => void process.stdout.write(`! ${text}\n`),
      });

/** The same as log entries; a long step is reported every five seconds. */
export function logReporter(log: { info(message: string): void; warn(message: string): void }): Reporter {
  let last = { text: '', at: 0 };
  return {
    progress: (progress) => {
      const kind = progress.text.split('(')[0]!;
      if (kind === last.text && Date.now() - last.at < 5_000) return;
      last = { text: kind, at: Date.now() };
      log.info(describe(progress));
    },
    done: (text) => log.info(text),
    warn: (text) => log.warn(text),
  };
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

function describe({ text, done, total }: Progress): string {
  if (done === undefined) return text;
  return total
    ? `${text}: ${Math.floor((done / total) * 100)} % (${megabytes(done)} of ${megabytes(total)} MB)`
    : `${text}: ${megabytes(done)} MB`;
}
