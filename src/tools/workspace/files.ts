import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { prefix } from '../../domain/text/storable.ts';
import { intentOf, noteIntent } from '../../store/kennel/intents.ts';
import { shown } from '../approval-words.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import {
  changeWorkspace,
  confirmArgument,
  inWorkspace,
  operate,
  outcomeOf,
  pathArgument,
  previewOf,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from './in-workspace.ts';

/** Reads and changes files of a workspace, in a container that holds nothing else. */

const common = { effect: 'idempotent', runsIn: 'kennel', timeoutMs: WITH_IMAGE_MS } as const;
const MAX_CONTENT = 1_000_000;

/** One operation on the workspace that is meant. */
const run = (context: ToolContext, workspace: string | undefined, op: WorkspaceOp): Promise<ToolOutcome> =>
  inWorkspace(context, workspace, async (at) => outcomeOf(await operate(at, op, context), at));

export const fileTools: Tool[] = [
  defineTool({
    ...common,
    name: 'file_list',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description: 'List the files and folders of a folder in the workspace, folders first.',
    danger: 'SAFE',
    schema: z.strictObject({
      path: pathArgument(false).default('.').describe('Relative to the workspace; the workspace itself by default'),
      depth: z.int().min(1).max(10).default(1).describe('How many levels deep'),
      limit: z.int().min(1).max(2000).default(300).describe('Entries at most'),
      workspace: workspaceArgument,
    }),
    run: ({ workspace, ...args }, context) => run(context, workspace, { op: 'list', ...args }),
  }),
  defineTool({
    ...common,
    name: 'file_read',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description: 'Read lines of a text file in the workspace, as they are.',
    danger: 'SAFE',
    schema: z.strictObject({
      path: pathArgument(false).describe('Relative to the workspace'),
      from: z.int().min(1).default(1).describe('First line, from 1'),
      lines: z.int().min(1).max(5000).default(400).describe('Lines at most'),
      workspace: workspaceArgument,
    }),
    run: ({ workspace, ...args }, context) => run(context, workspace, { op: 'read', ...args }),
  }),
  defineTool({
    ...common,
    name: 'file_search',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description: 'Search the text files of the workspace for a text or a regular expression; what .gitignore names is left out.',
    danger: 'SAFE',
    schema: z.strictObject({
      pattern: text(1000).min(1).describe('What to look for'),
      regex: z.boolean().default(false).describe('The pattern is a regular expression'),
      path: pathArgument(false).default('.').describe('Folder or file to search'),
      glob: text(200).min(1).optional().describe('Only files whose path matches, for example *.ts'),
      limit: z.int().min(1).max(1000).default(100).describe('Matches at most'),
      workspace: workspaceArgument,
    }),
    run: ({ workspace, ...args }, context) => run(context, workspace, { op: 'search', ...args }),
  }),
  defineTool({
    ...common,
    name: 'file_write',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description: 'Write a text file in the workspace, whole; folders on the way are made. Use file_edit to change a part of a file.',
    danger: 'MODERATE',
    schema: z.strictObject({ path: pathArgument(true).describe('Relative to the workspace'), content: text(MAX_CONTENT), workspace: workspaceArgument }),
    summarise: (args) => `${args.content.length} characters`,
    preview: ({ workspace, ...args }, context) => previewOf(context, workspace, { op: 'write', ...args, preview: true }),
    item: 'file_change',
    asks: (args, at) => `Write ${shown(args.path)}${at}?`,
    run: ({ workspace, ...args }, context) =>
      changeWorkspace(context, workspace, async (at) => outcomeOf(await operate(at, { op: 'write', ...args }, context), at)),
  }),
  defineTool({
    ...common,
    name: 'file_edit',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description:
      'Replace a text in a file of the workspace by another. The text must be there exactly as given, white space included, and only once unless all is set: give some lines around it.',
    danger: 'MODERATE',
    schema: z.strictObject({
      path: pathArgument(true).describe('Relative to the workspace'),
      find: text(MAX_CONTENT).min(1),
      replace: text(MAX_CONTENT),
      all: z.boolean().default(false).describe('Replace every occurrence'),
      workspace: workspaceArgument,
    }),
    preview: ({ workspace, ...args }, context) => previewOf(context, workspace, { op: 'edit', ...args, preview: true }),
    item: 'file_change',
    asks: (args, at) => `Change ${shown(args.path)}${at}?`,
    run: ({ workspace, ...args }, context) => edit(context, workspace, { op: 'edit', ...args }),
  }),
  defineTool({
    ...common,
    name: 'file_delete',
    reads: [],
    sends: [],
    description: 'Delete one file in the workspace. The system asks the person for consent where that is wanted.',
    danger: 'DANGEROUS',
    schema: z.strictObject({ path: pathArgument(true).describe('Relative path of the file'), workspace: workspaceArgument, confirm: confirmArgument }),
    preview: ({ workspace, path }, context) => previewOf(context, workspace, { op: 'delete', path, kind: 'file', preview: true }),
    item: 'file_change',
    asks: (args, at) => `Delete ${shown(args.path)}${at}?`,
    run: ({ workspace, path }, context) => remove(context, workspace, path, 'file'),
  }),
  defineTool({
    ...common,
    name: 'folder_delete',
    reads: [],
    sends: [],
    description: 'Delete a folder in the workspace with everything in it. The system asks the person for consent where that is wanted.',
    danger: 'DANGEROUS',
    schema: z.strictObject({
      path: pathArgument(true)
        .refine((path) => path !== '.', 'the workspace itself is deleted with workspace_delete')
        .describe('Relative path of the folder'),
      workspace: workspaceArgument,
      confirm: confirmArgument,
    }),
    preview: ({ workspace, path }, context) => previewOf(context, workspace, { op: 'delete', path, kind: 'folder', preview: true }),
    item: 'file_change',
    asks: (args, at) => `Delete the folder ${shown(args.path)}${at} with everything in it?`,
    run: ({ workspace, path }, context) => remove(context, workspace, path, 'folder'),
  }),
];

/**
 * An edit done twice is not the same edit: `x` by `xx`. So what it would change is recorded first. If an attempt would change something else, or nothing, the
 * attempt before it has made the edit.
 */
const edit = (context: ToolContext, workspace: string | undefined, op: Extract<WorkspaceOp, { op: 'edit' }>): Promise<ToolOutcome> =>
  changeWorkspace(context, workspace, async (at) => {
    const planned = await operate(at, { ...op, preview: true }, context);
    const change = createHash('sha256').update(`${planned.ok}\n${planned.output}`).digest('hex');
    const before = await intentOf(context.db, context.callId);
    if (before?.change !== undefined && before.change !== change)
      return outcomeOf({ ok: true, output: `Edited ${op.path}.\n${String(before.shown ?? '')}`.trim(), data: { path: op.path } }, at);
    if (!planned.ok) return outcomeOf(planned, at);
    await noteIntent(context.db, context.callId, { change, shown: prefix(planned.output, 20_000) });
    return outcomeOf(await operate(at, op, context), at);
  });

/** Deletes. If nothing is there and an earlier attempt recorded that it would delete, that attempt has done it. */
const remove = (context: ToolContext, workspace: string | undefined, path: string, kind: 'file' | 'folder'): Promise<ToolOutcome> =>
  changeWorkspace(context, workspace, async (at) => {
    const before = await intentOf(context.db, context.callId);
    const planned = before ? null : await operate(at, { op: 'delete', path, kind, preview: true }, context);
    if (planned && !planned.ok) return outcomeOf(planned, at);
    await noteIntent(context.db, context.callId, { deletes: path });
    const answer = await operate(at, { op: 'delete', path, kind }, context);
    if (!answer.ok && !(before && /is not there/.test(answer.output))) return outcomeOf(answer, at);
    return outcomeOf({ ok: true, output: `Deleted ${kind} ${path}`, data: { ...answer.data, path } }, at);
  });
