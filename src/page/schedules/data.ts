import type { OwnerSchedules } from '../../contracts/owner.ts';
import { Resource } from '../shared/server/resource.ts';

export const schedules = new Resource<OwnerSchedules>(
  '/v1/owner/schedules',
  ({ about }) => about === 'schedules',
  1_000,
);
