import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * As the images of the kennel set it: what Node compiles of our programs is kept. It is two thirds of the time of a
 * small operation.
 */
export const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), 'fetch-test-compiled') };
