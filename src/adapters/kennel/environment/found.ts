import { z } from 'zod';
import {
  type CopiedContent,
  type FoundEnvironment,
  LANGUAGES,
  MANAGERS,
  SERVICES,
} from '../../../contracts/environment.ts';

/** The findings of the workspace program. It read files of strangers, so nothing that it says is used unchecked. */

const path = z.string().max(4_000);
/** A file below the folder of a build, and not the folder that is ours there. */
const insidePath = path.regex(/^(?!\.fetch\/)(?!(?:.*\/)?\.{0,2}(?:\/|$))[^\0]+$/);
const MOST_FILES = 2_000;
const name = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/);
const value = z.string().max(4_000);

const lines = z
  .array(z.object({ file: path, line: z.int().min(1), text: z.string().max(500), why: z.string().max(500) }))
  .max(50);

const shape = z.object({
  languages: z
    .array(
      z.object({
        language: z.enum(LANGUAGES),
        version: z
          .string()
          .regex(/^[\w.<>=~^|*,!+ -]{1,60}$/)
          .nullable(),
        file: path,
      }),
    )
    .max(LANGUAGES.length),
  managers: z
    .array(
      z.object({
        name: z.enum(MANAGERS),
        version: z
          .string()
          .regex(/^[\w.-]{1,40}$/)
          .nullable(),
      }),
    )
    .max(MANAGERS.length),
  services: z.array(z.enum(SERVICES)).max(SERVICES.length),
  packages: z.array(z.string().regex(/^[a-z0-9][a-z0-9+.-]{1,100}$/)).max(400),
  variables: z.record(name, value),
  devcontainer: z
    .object({
      file: path,
      image: z
        .string()
        .regex(/^[a-z0-9][a-z0-9._:/-]{0,200}(@sha256:[0-9a-f]{64})?$/)
        .nullable(),
      dockerfile: z
        .string()
        .max(64 * 1024)
        .nullable(),
      copied: z
        .array(z.object({ path: insidePath, executable: z.boolean(), bytes: z.int().min(0), sha256: z.hash('sha256') }))
        .max(MOST_FILES),
      args: z.record(name, value),
      setup: z.array(z.string().max(100_000)).max(100),
    })
    .nullable(),
  refused: lines,
  unused: lines,
  files: z.array(path).max(3 * MOST_FILES),
});

const contents = z.object({
  files: z.array(z.object({ path: insidePath, executable: z.boolean(), base64: z.base64() })).max(MOST_FILES),
});

export const NOTHING: FoundEnvironment = {
  languages: [],
  managers: [],
  services: [],
  packages: [],
  variables: {},
  devcontainer: null,
  refused: [],
  unused: [],
  files: [],
};

/** What is in the files that a build copies. Throws for an answer that is not one of the workspace program. */
export const checkedContents = (data: unknown): CopiedContent[] => contents.parse(data).files;

/** Throws for an answer that is not one of the workspace program. */
export const checkedEnvironment = (data: unknown): FoundEnvironment => shape.parse(data);
