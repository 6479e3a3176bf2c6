export const TasksPart = (_: { rest: string[] }) => null;
