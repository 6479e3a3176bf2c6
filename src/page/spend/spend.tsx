export const SpendPart = (_: { rest: string[] }) => null;
