import { escapedPath } from '../go/url-path.ts';

/** Where a path leads, before authentication. */
export type MuxResult =
  | { readonly kind: 'found'; readonly pattern: string; readonly path: string }
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'none' };

/** Splits a request target into the path as it was sent and the query after its `?`. */
export function splitTarget(target: string): { readonly path: string; readonly search: string } {
  const at = target.indexOf('?');
  return at < 0 ? { path: target, search: '' } : { path: target.slice(0, at), search: target.slice(at) };
}

/** Returns a path without empty, `.` and `..` segments; a trailing slash stays (Go `cleanPath`). */
export function cleanPath(path: string): string {
  const segments: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') segments.pop();
    else segments.push(part);
  }
  const clean = `/${segments.join('/')}`;
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}

/**
 * Finds the longest pattern that matches a path; a pattern with a trailing slash matches everything below it. A path that is not clean,
 * or lacks the trailing slash of its pattern, is redirected. Follows Go's `ServeMux`, which the kubelet uses (K1).
 */
export function route(patterns: ReadonlySet<string>, target: string): MuxResult {
  const { path: sent, search: rawSearch } = splitTarget(target);
  const search = rawSearch === '?' ? '' : rawSearch;
  if (!sent.startsWith('/')) return { kind: 'none' };
  const path = cleanPath(sent);
  if (!patterns.has(path) && patterns.has(`${path}/`))
    return { kind: 'redirect', location: `${path}/${search}` };
  // What was already escaped is escaped once more, as Go's `ServeMux` does.
  if (path !== sent) return { kind: 'redirect', location: `${escapedPath(path)}${search}` };
  if (patterns.has(path)) return { kind: 'found', pattern: path, path };
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const pattern = path.slice(0, at + 1);
    if (patterns.has(pattern)) return { kind: 'found', pattern, path };
  }
  return { kind: 'none' };
}
