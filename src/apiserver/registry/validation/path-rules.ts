import { type Faults, invalid, invalidEach, required } from '../../../kube/validation/field-error.ts';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';

const httpPath = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const wholePath = new RegExp(`^${httpPath}$`);

/** Validates a path below a domain, like `acme.io/foo`. Follows apimachinery `IsDomainPrefixedPath`. */
export function* domainPrefixedPath(field: string, text: string): Faults {
  if (text === '') {
    yield required(field);
    return;
  }
  const cut = text.indexOf('/');
  const [host, path] = [text.slice(0, cut), text.slice(cut + 1)];
  if (cut <= 0 || path === '') {
    yield invalid(field, text, 'must be a domain-prefixed path (such as "acme.io/foo")');
    return;
  }
  yield* invalidEach(field, host, dns1123Subdomain(host));
  if (!wholePath.test(path))
    yield invalid(field, path, `Invalid path (regex used for validation is '${httpPath}')`);
}
