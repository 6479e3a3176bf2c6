import { Store } from './store.ts';

type Theme = 'auto' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const KEY = 'fetch-theme';

export const theme = new Store<Theme>('auto');

/** What this browser remembers may be refused to us, as in a private window. */
export const remembered = (key: string): string | null => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
};
export const remember = (key: string, value: string | null): void => {
  try {
    if (value === null || value === '') localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // it holds until the page is closed
  }
};

export function startTheme(): void {
  const kept = remembered(KEY) as Theme | null;
  setTheme(kept && THEMES.includes(kept) ? kept : 'auto');
}

export function setTheme(value: Theme): void {
  theme.set(value);
  remember(KEY, value === 'auto' ? null : value);
  if (value === 'auto') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = value;
}

export const nextTheme = (now: Theme): Theme => THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]!;
