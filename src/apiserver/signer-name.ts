import { dns1123Label, dns1123Subdomain } from '../kube/validation/name-rules.ts';
import { fault, type FieldFault } from './status-error.ts';

/** Faults of a signer's name, which is a domain and a path: `example.com/signer`. Follows Kubernetes `ValidateSignerName`. */
export function signerFaults(name: string): FieldFault[] {
  const field = 'spec.signerName';
  const parts = name.split('/');
  if (parts.length !== 2)
    return [
      fault.invalid(
        field,
        name,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    ];
  const [domain = '', path = ''] = parts;
  const faulty = (text: string, rule: (label: string) => readonly string[]): FieldFault[] => {
    const label = text.split('.').find((one) => rule(one).length > 0);
    return label === undefined
      ? []
      : rule(label).map((why) =>
          fault.invalid(field, text, `validating label ${JSON.stringify(label)}: ${why}`),
        );
  };
  return [
    ...(domain.length > 253 ? [fault.tooLong(field, 253)] : []),
    ...faulty(domain, dns1123Label),
    ...(domain.includes('.')
      ? []
      : [fault.invalid(field, domain, 'should be a domain with at least two segments separated by dots')]),
    ...faulty(path, dns1123Subdomain),
    ...(name.length > 571 ? [fault.tooLong(field, 571)] : []),
  ];
}
