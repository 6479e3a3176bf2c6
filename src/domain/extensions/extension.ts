import { type CustomTool, customToolText } from './custom-tool.ts';
import { declarationText, type McpDeclaration } from './mcp-declaration.ts';
import { type Skill, skillText } from './skill.ts';

/**
 * Extensions of the owner. Nothing of it reaches a model, or runs, before the owner agreed to exactly this version.
 */
export type Declaration = McpDeclaration | CustomTool | Skill;

export type ExtensionKind = Declaration['kind'];

export const nameOf = (declaration: Declaration): string =>
  declaration.kind === 'mcp' ? declaration.server.name : declaration.name;

/** Everything that a person agrees to. */
export function textOf(declaration: Declaration): string {
  switch (declaration.kind) {
    case 'mcp':
      return declarationText(declaration);
    case 'tool':
      return customToolText(declaration);
    case 'skill':
      return skillText(declaration);
  }
}

/** How many characters of a hash a person writes to say which version they have seen. */
const CODE_LENGTH = 8;
export const codeOf = (hash: string): string => hash.slice(0, CODE_LENGTH);
