import type { ColumnType } from 'kysely';

/** Set when the row is created, by the clock of the database unless given. */
export type Created = ColumnType<Date, Date | undefined, never>;
/** jsonb: written as a string by `json()`, read parsed */
export type Json<T> = ColumnType<T, string, string>;
/** jsonb with a default */
export type Defaulted<T> = ColumnType<T, string | undefined, string>;
export type NullableJson<T> = ColumnType<T | null, string | null | undefined, string | null>;
