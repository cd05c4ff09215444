import { type Document, isCollection, isScalar, visit } from 'yaml';

/** What the kubelet's reader says; `parser` marks what its parser finds, not its scanner: it counts lines from 0. */
export type Wording = readonly [message: string, parser: boolean, advice: string];

const advice = 'a tab stands where YAML wants spaces; indent with spaces';

/** What is wrong with a tab at the begin of a line; nothing where a text without quotes goes on in its mapping. */
export function tabWording(before: string, spaces: string): Wording | undefined {
  const last = before.trimEnd().split('\n').at(-1) ?? '';
  const [marks = ''] = /^\s*(?:[-?]\s+)*/.exec(last) ?? [];
  const value = last.slice(marks.length).replace(/^[^"'\s][^"']*?:\s+/, '');
  if (/^$|^["'[{|>&*!]|:$|(?:^|\s)#/.test(value))
    return ['found character that cannot start any token', false, advice];
  if (spaces.length > marks.length) return undefined;
  return ['found a tab character that violates indentation', false, advice];
}

/** The first line that holds nothing but blanks, among them a tab at its begin: the kubelet's reader takes it for an indentation. */
export function tabLine(
  text: string,
  doc: Document.Parsed | undefined,
): { readonly offset: number; readonly wording: Wording } | undefined {
  for (const { 0: line, 1: spaces = '', index } of text.matchAll(/^( *)\t[\t ]*(?:#.*)?$/gm)) {
    const offset = index + spaces.length;
    const wording = isWithin(offset, doc) ? undefined : tabWording(text.slice(0, index), spaces);
    if (wording && line !== '') return { offset, wording };
  }
  return undefined;
}

/** Does an offset lie in brackets, quotes or a block of text? */
function isWithin(offset: number, doc: Document.Parsed | undefined): boolean {
  if (!doc || offset > doc.range[2]) return true;
  let found = false;
  visit(doc, {
    Node: (_key, node) => {
      const [start, end] = node.range ?? [0, 0];
      const holds = isCollection(node) ? node.flow : isScalar(node) && node.type !== 'PLAIN';
      if (holds && start < offset && offset < end) found = true;
    },
  });
  return found;
}
