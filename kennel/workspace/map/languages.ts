/**
 * How the languages of a map are read: their files, what a file needs of others, and which nodes of its syntax define
 * something.
 */

export interface Language {
  /** file of the grammar, without `tree-sitter-` and `.wasm` */
  grammar: string;
  /** finds what a file imports: the first group that matched is the name */
  imports: RegExp;
  /** nodes that define a name at the top of a file */
  defines: ReadonlySet<string>;
  /** nodes that only stand around definitions: exports, namespaces */
  around: ReadonlySet<string>;
}

const language = (grammar: string, imports: RegExp, defines: string, around = ''): Language => ({
  grammar,
  imports,
  defines: new Set(defines.split(' ')),
  around: new Set(around.split(' ')),
});

const SCRIPT_IMPORTS = /\b(?:from|import|require)\b[ \t]{0,10}\(?[ \t]{0,10}['"]([^'"\n]{1,200})['"]/g;
const SCRIPT = 'function_declaration generator_function_declaration class_declaration variable_declarator';
const TYPED = `${SCRIPT} abstract_class_declaration interface_declaration type_alias_declaration enum_declaration`;
const SCRIPT_AROUND =
  'export_statement lexical_declaration variable_declaration internal_module expression_statement statement_block';

const javascript = language('javascript', SCRIPT_IMPORTS, SCRIPT, SCRIPT_AROUND);
const typescript = language('typescript', SCRIPT_IMPORTS, TYPED, SCRIPT_AROUND);
const tsx = language('tsx', SCRIPT_IMPORTS, TYPED, SCRIPT_AROUND);
const python = language(
  'python',
  /^[ \t]{0,40}(?:from|import)[ \t]{1,10}([.\w]{1,200})/gm,
  'function_definition class_definition',
  'decorated_definition',
);
const go = language(
  'go',
  /^[ \t]{0,10}(?:import[ \t]{1,10})?(?:[\w.]{1,60}[ \t]{1,10})?"([\w./-]{1,200})"[ \t]*$/gm,
  'function_declaration method_declaration type_spec',
  'type_declaration',
);
const rust = language(
  'rust',
  /^[ \t]{0,20}(?:pub(?:\([a-z]{1,10}\))?[ \t]{1,10})?(?:use[ \t]{1,10}(?:crate|super|self)::([\w:]{1,200})|mod[ \t]{1,10}(\w{1,100});)/gm,
  'function_item struct_item enum_item trait_item type_item macro_definition union_item',
);
const java = language(
  'java',
  /^[ \t]{0,10}import[ \t]{1,10}(?:static[ \t]{1,10})?([\w.]{1,200})/gm,
  'class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration',
);
const cpp = language(
  'cpp',
  /^[ \t]{0,10}#[ \t]{0,10}include[ \t]{0,10}"([^"\n]{1,200})"/gm,
  'function_definition struct_specifier class_specifier enum_specifier union_specifier type_definition alias_declaration',
  'namespace_definition declaration_list linkage_specification template_declaration preproc_ifdef preproc_if',
);
const ruby = language(
  'ruby',
  /^[ \t]{0,20}require(?:_relative)?[ \t(]{1,10}['"]([^'"\n]{1,200})['"]/gm,
  'class module method singleton_method',
);
const php = language(
  'php',
  /^[ \t]{0,20}(?:use[ \t]{1,10}|(?:require|include)(?:_once)?[ \t(]{1,5}(?:(?:__DIR__|dirname\(__FILE__\))[ \t]?\.[ \t]?)?['"])([\w\\/.-]{1,200})/gm,
  'function_definition class_declaration interface_declaration trait_declaration enum_declaration',
  'namespace_definition compound_statement',
);

const BY_EXTENSION: Record<string, Language> = {
  js: javascript,
  mjs: javascript,
  cjs: javascript,
  jsx: javascript,
  ts: typescript,
  mts: typescript,
  cts: typescript,
  tsx,
  py: python,
  go,
  rs: rust,
  java,
  c: cpp,
  h: cpp,
  cc: cpp,
  cpp,
  cxx: cpp,
  hh: cpp,
  hpp: cpp,
  rb: ruby,
  php,
};

export const languageOf = (path: string): Language | null => {
  const extension = /\.([a-z]{1,4})$/.exec(path)?.[1];
  return (extension !== undefined && Object.hasOwn(BY_EXTENSION, extension) && BY_EXTENSION[extension]) || null;
};
