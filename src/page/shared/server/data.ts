import type { OwnerNow } from '../../../contracts/owner.ts';
import { moreThanText, Resource } from './resource.ts';

/** What waits, runs and failed: every part needs it, for the badge and for questions inside a chat. */
export const now = new Resource<OwnerNow>(
  '/v1/owner/now',
  (event) => ['tasks', 'schedules'].includes(event.about) || moreThanText(event),
  350,
);
