/** Icons of 24 by 24, drawn as lines. */
const PATHS = {
  now: 'M13 3 5 14h6l-1 7 8-11h-6z',
  chats: 'M4 5.5h16v10.5H10l-4.5 4V16H4z',
  tasks: 'M4 5h16v14H4zM8 10l2.5 2.2L8 14.5M13 15h3.5',
  schedules: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17M12 7.5V12l3 2',
  spend: 'M4 20V4M4 20h16M8.5 16v-4M12.5 16V8M16.5 16v-6',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.8v4.4M9 14.8v4.4',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  auto: 'M12 3.5a8.5 8.5 0 1 0 0 17zM12 3.5a8.5 8.5 0 0 1 0 17',
  back: 'M15 5l-7 7 7 7',
  send: 'M12 20V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  attach: 'M19 11.5l-7.6 7.6a4.6 4.6 0 0 1-6.5-6.5l8-8a3.1 3.1 0 0 1 4.4 4.4l-8 8a1.55 1.55 0 0 1-2.2-2.2l7-7',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  failed: 'M7 7l10 10M17 7L7 17',
  right: 'M9 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5L20 20',
  pause: 'M9 6v12M15 6v12',
  play: 'M8 5.5l10.5 6.5L8 18.5z',
  undo: 'M8 5L4 9l4 4M4 9h10a5.5 5.5 0 0 1 0 11h-3',
  redo: 'M16 5l4 4-4 4M20 9H10a5.5 5.5 0 0 0 0 11h3',
  warning: 'M12 4L2.8 19.5h18.4zM12 10v4.5M12 17v.5',
  file: 'M6 3.5h8l4 4v13H6zM14 3.5v4h4',
  branch:
    'M7 4v11M7 15a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M17 4a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M17 9c0 4-4 4-7.5 6.5',
  edit: 'M4 20l1-4.5L16 4.5l3.5 3.5-11 11z',
  archive: 'M4 5h16v4H4zM5.5 9v10.5h13V9M10 13h4',
  external: 'M9 5H5v14h14v-4M13 5h6v6M19 5l-9 9',
} as const;

export type IconName = keyof typeof PATHS;

/** A picture beside words; it says nothing by itself. */
export const Icon = ({ name, size = 18 }: { name: IconName; size?: number }) => (
  <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
);
