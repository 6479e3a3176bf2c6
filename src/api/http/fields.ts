import { z } from 'zod';

/** Exactly the fields of a record, so that a schema and the type in `src/contracts` cannot differ. */
export type Fields<Record> = { [Name in keyof Record]-?: z.ZodType<Record[Name]> };

/** RFC 3339. The pattern is left out: it is long and adds nothing. */
export const time = () => z.iso.datetime({ offset: true }).meta({ pattern: undefined });
export const count = () => z.int().nonnegative();
export const usd = () => z.number().nonnegative();
