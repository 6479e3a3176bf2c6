import type { Tool } from '../tool.ts';
import { browserAction } from './action.ts';
import { browserOpen, browserSnapshot } from './open.ts';
import { browserScreenshot } from './screenshot.ts';
import { browserTest } from './test.ts';

export const browserTools: Tool[] = [browserOpen, browserSnapshot, browserAction, browserScreenshot, browserTest];
