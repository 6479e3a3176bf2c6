/** The server has no room left to write (SQLSTATE 53100): the same request works once there is room. */
export const isDiskFull = (error: unknown): boolean => (error as { code?: string } | null)?.code === '53100';
