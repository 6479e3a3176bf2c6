import { ApiError } from '../../../domain/api-error.ts';
import { Store } from '../store.ts';

/** `refused`: the server answers, and wants a new link. */
type Connection = 'connecting' | 'open' | 'lost' | 'refused';

export const connection = new Store<Connection>('connecting');

/** streams that have no connection now */
const broken = new Set<AbortSignal>();

export function connectionOpen(stream: AbortSignal): void {
  broken.delete(stream);
  if (broken.size === 0) connection.set('open');
}

/** Nobody wants this stream any more, so it says nothing about the connection. */
export function connectionEnded(stream: AbortSignal): void {
  const counted = broken.delete(stream);
  if (counted && broken.size === 0) connection.set('open');
}

export function connectionLost(stream: AbortSignal, error: unknown): void {
  broken.add(stream);
  connection.set(error instanceof ApiError && error.status === 401 ? 'refused' : 'lost');
}
