/** An address as it may be shown: a user, a password and a query, which may be a key, are left out. */
export function shownAddress(address: string): string {
  const { username, password, search, protocol, host, pathname } = new URL(address);
  return username === '' && password === '' && search === '' ? address : `${protocol}//${host}${pathname}`;
}
