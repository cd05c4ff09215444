import { type Document, isCollection, isScalar, visit } from 'yaml';

/** Message of the kubelet's reader; `parser` is true for errors of its parser, which counts lines from 0, not of its scanner. */
export type Wording = readonly [message: string, parser: boolean, advice: string];

const advice = 'a tab stands where YAML wants spaces; indent with spaces';

/** Returns the error of a tab at the beginning of a line; `undefined` where a plain scalar continues in its mapping. */
export function tabWording(before: string, spaces: string): Wording | undefined {
  const last = before.trimEnd().split('\n').at(-1) ?? '';
  const [marks = ''] = /^\s*(?:[-?]\s+)*/.exec(last) ?? [];
  const value = last.slice(marks.length).replace(/^[^"'\s][^"']*?:\s+/, '');
  if (/^$|^["'[{|>&*!]|:$|(?:^|\s)#/.test(value))
    return ['found character that cannot start any token', false, advice];
  if (spaces.length > marks.length) return undefined;
  return ['found a tab character that violates indentation', false, advice];
}

/** Returns the first line that contains only blanks and begins with a tab among them: the kubelet's reader takes it for indentation. */
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

/** True when an offset is in a flow collection, quotes or a block scalar. */
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
