import { escapedPath } from '../go/url-path.ts';

/** Where a path leads before anybody is asked who they are. */
export type MuxResult =
  | { readonly kind: 'found'; readonly pattern: string; readonly path: string }
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'none' };

/** The path of a request target as it was sent, and what follows its `?`. */
export function splitTarget(target: string): { readonly path: string; readonly search: string } {
  const at = target.indexOf('?');
  return at < 0 ? { path: target, search: '' } : { path: target.slice(0, at), search: target.slice(at) };
}

/** A path without empty, `.` and `..` parts; a slash at the end stays (Go `cleanPath`). */
export function cleanPath(path: string): string {
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') kept.pop();
    else kept.push(part);
  }
  const clean = `/${kept.join('/')}`;
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}

/**
 * Finds the longest pattern that a path belongs to; one that ends in a slash stands for all below it. A path that is not clean, or lacks
 * the slash of its pattern, is redirected. Follows Go's `ServeMux`, which the kubelet's routes hang on (K1).
 */
export function route(patterns: ReadonlySet<string>, target: string): MuxResult {
  const { path: sent, search: given } = splitTarget(target);
  const search = given === '?' ? '' : given;
  if (!sent.startsWith('/')) return { kind: 'none' };
  const path = cleanPath(sent);
  if (!patterns.has(path) && patterns.has(`${path}/`))
    return { kind: 'redirect', location: `${path}/${search}` };
  // What was escaped already is so once more, as Go's `ServeMux` does it.
  if (path !== sent) return { kind: 'redirect', location: `${escapedPath(path)}${search}` };
  if (patterns.has(path)) return { kind: 'found', pattern: path, path };
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const pattern = path.slice(0, at + 1);
    if (patterns.has(pattern)) return { kind: 'found', pattern, path };
  }
  return { kind: 'none' };
}
