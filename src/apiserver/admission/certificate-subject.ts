import { type JsonObject, specOf, stringAt } from '../../apimachinery/json.ts';
import { readSigningRequest, type SigningRequest } from '../../pki/certificates.ts';
import { type AdmissionPlugin, isResource, refusal } from './plugin.ts';

const signer = 'kubernetes.io/kube-apiserver-client';

/** Returns the signing request inside a CertificateSigningRequest, or why it cannot be parsed. */
export function parsedRequest(spec: JsonObject): SigningRequest | string {
  try {
    return readSigningRequest(Buffer.from(stringAt(spec, 'request'), 'base64').toString());
  } catch {
    return 'PEM block type must be CERTIFICATE REQUEST';
  }
}

/** Rejects client certificates for group `system:masters`: no authorizer could revoke such a permission. */
export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  handles: (operation, kind, subresource) =>
    operation === 'CREATE' &&
    isResource(kind, 'certificatesigningrequests', 'certificates.k8s.io') &&
    subresource === '',
  validate(attributes) {
    const spec = specOf(attributes.object);
    if (stringAt(spec, 'signerName') !== signer) return;
    const request = parsedRequest(spec);
    if (typeof request === 'string') throw refusal(attributes, `failed to parse CSR: ${request}`);
    if (request.subject.organizations?.includes('system:masters'))
      throw refusal(attributes, `use of ${signer} signer with system:masters group is not allowed`);
  },
};
