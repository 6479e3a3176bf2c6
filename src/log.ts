import pino, { type DestinationStream, type Logger } from 'pino';

/** Bytes of lines that wait for a disk that is full; later ones are dropped. */
const MAX_WAITING = 1024 * 1024;

/**
 * Where log lines go. A disk that is full may cost lines, never the process: by default pino ends it with the first
 * write that fails, and holds it for ever at its exit.
 */
export function logDestination(fd: 1 | 2): DestinationStream {
  const stream = pino.destination({ dest: fd, sync: true, maxLength: MAX_WAITING });
  stream.on('error', () => {});
  return stream;
}

/** JSON has nothing of an `Error`; Temporal's worker logs its failures under this name. */
const error = (value: unknown): unknown => (value instanceof Error ? pino.stdSerializers.err(value) : value);

/** Logs of this process; one that nobody holds any more is forgotten. */
const logs = new Set<WeakRef<Logger>>();

/** The log of one part of a role, on its standard error. */
export function createLog(part: string, level: string): Logger {
  const log = pino({ level, base: { part }, serializers: { error } }, logDestination(2));
  logs.add(new WeakRef(log));
  return log;
}

/** Sets the level of each log of this process. */
export function setLogLevel(level: string): void {
  for (const each of logs) {
    const log = each.deref();
    if (log) log.level = level;
    else logs.delete(each);
  }
}
