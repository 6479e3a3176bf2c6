import { createHash, timingSafeEqual } from 'node:crypto';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares in constant time. Digests are compared, so different lengths take the same time. */
export const sameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
