export const SettingsPart = (_: { rest: string[] }) => null;
