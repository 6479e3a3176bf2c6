/** For the rejection of a change that a unique index refuses. Throws every other error. */
export function nullIfTaken(error: unknown): null {
  if ((error as { code?: string }).code === '23505') return null;
  throw error;
}
