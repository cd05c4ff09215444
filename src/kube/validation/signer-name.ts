import { goQuote } from '../../go/go-quote.ts';
import { type Faults, invalid, required, tooLong } from './field-error.ts';
import { dns1123Label, dns1123Subdomain, type NameRule } from './name-rules.ts';

const mostDomain = 253;
const mostName = 571;

function* labels(field: string, text: string, rule: NameRule): Faults {
  const label = text.split('.').find((one) => rule(one).length > 0);
  if (label === undefined) return;
  for (const why of rule(label)) yield invalid(field, text, `validating label ${goQuote(label)}: ${why}`);
}

/** True for signers of Kubernetes itself. Follows `IsKubernetesSignerName`. */
export const isKubernetesSigner = (name: string): boolean =>
  /^(?:.*\.)?kubernetes\.io$/s.test(name.split('/', 1)[0] ?? '');

/** Validates a signer name: a domain and a path, `example.com/signer`. Follows Kubernetes `ValidateSignerName`. */
export function* signerName(field: string, name: string): Faults {
  if (name === '') return yield required(field);
  const [domain = '', path, ...more] = name.split('/');
  if (path === undefined || more.length > 0)
    return yield invalid(
      field,
      name,
      "must be a fully qualified domain and path of the form 'example.com/signer-name'",
    );
  if (domain.length > mostDomain) yield tooLong(field, mostDomain);
  yield* labels(field, domain, dns1123Label);
  if (!domain.includes('.'))
    yield invalid(field, domain, 'should be a domain with at least two segments separated by dots');
  yield* labels(field, path, dns1123Subdomain);
  if (name.length > mostName) yield tooLong(field, mostName);
}
