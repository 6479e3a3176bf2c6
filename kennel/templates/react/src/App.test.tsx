import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { App } from './App';

test('greets by name', () => {
  expect(renderToStaticMarkup(<App name="Ada" />)).toBe('<h1>Hello, Ada!</h1>');
});
