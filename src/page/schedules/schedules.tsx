export const SchedulesPart = (_: { rest: string[] }) => null;
