#include "common/step/secure_stream.hpp"

#include <array>
#include <string>

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <openssl/ssl.h>

#include "common/base/check.hpp"
#include "common/auth/crypto.hpp"
#include "common/auth/openssl_objects.hpp"

namespace sluice {
namespace {

namespace ssl = boost::asio::ssl;

// the secret has other uses, which are not to give this key away
constexpr std::string_view kPurpose = "sluice step TLS";
constexpr std::string_view kName = "step";  // of the key, as it goes over the wire
constexpr std::array<unsigned char, 2> kCipher{0x13, 0x01};
constexpr const char* kCipherName = "TLS_AES_128_GCM_SHA256";
// the first one is what srun has used already, with the controller
constexpr const char* kGroups = "P-256:X25519";
constexpr size_t kKeyBytes = net::kDigestSize;
constexpr int kTurns = 3;  // of a handshake of both sides

int key_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// What a handshake by the connection's key starts from; null: it has none.
SSL_SESSION* session_of(SSL* connection) {
  const auto* key = static_cast<const std::string*>(SSL_get_ex_data(connection, key_index()));
  if (key == nullptr) return nullptr;
  SSL_SESSION* session = SSL_SESSION_new();
  const bool good =
      session != nullptr &&
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key->data()),
                                  key->size()) == 1 &&
      SSL_SESSION_set_cipher(session, SSL_CIPHER_find(connection, kCipher.data())) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (good) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int use_key(SSL* connection, const EVP_MD* /*digest*/, const unsigned char** name,
            size_t* name_size, SSL_SESSION** session) {
  *name = reinterpret_cast<const unsigned char*>(kName.data());
  *name_size = kName.size();
  *session = session_of(connection);
  return *session != nullptr ? 1 : 0;
}

int find_key(SSL* connection, const unsigned char* name, size_t name_size, SSL_SESSION** session) {
  const std::string_view asked(reinterpret_cast<const char*>(name), name_size);
  *session = asked == kName ? session_of(connection) : nullptr;
  return 1;
}

// One for each side and process: it costs more than a handshake. There is no certificate in it, and
// none is accepted: without the key there is no connection.
ssl::context& context_of(SecureStream::Side side) {
  static const auto make = [](const SSL_METHOD* method, ssl::verify_mode verify) {
    net::start_openssl();
    SSL_CTX* made = SSL_CTX_new(method);
    SLUICE_CHECK(made != nullptr);
    SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(made, kCipherName);
    SSL_CTX_set1_groups_list(made, kGroups);
    SSL_CTX_set_num_tickets(made, 0);
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_psk_use_session_callback(made, use_key);
    SSL_CTX_set_psk_find_session_callback(made, find_key);
    auto context = std::make_unique<ssl::context>(made);
    context->set_verify_mode(verify);
    return context;
  };
  if (side == SecureStream::Side::kConnected) {
    static const auto client =
        make(TLS_client_method(), ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    return *client;
  }
  // a client shows none: that it has the key is its proof
  static const auto server = make(TLS_server_method(), ssl::verify_none);
  return *server;
}

std::string key_of(std::string_view secret) { return net::hmac_sha256(secret, kPurpose); }

}  // namespace

struct SecureStream::Tls {
  Tls(Socket& socket, Side of, std::string_view secret)
      : side(of), key(key_of(secret)), stream(socket, context_of(of)) {
    SSL_set_ex_data(stream.native_handle(), key_index(), &key);
  }
  Side side;
  std::string key;
  ssl::stream<Socket&> stream;
};

void SecureStream::prepare() {
  std::string key = net::random_bytes(kKeyBytes);
  const net::TlsPtr client(SSL_new(context_of(Side::kConnected).native_handle()));
  const net::TlsPtr server(SSL_new(context_of(Side::kAccepted).native_handle()));
  BIO* one = nullptr;
  BIO* other = nullptr;
  if (client == nullptr || server == nullptr || BIO_new_bio_pair(&one, 0, &other, 0) != 1) return;
  SSL_set_bio(client.get(), one, one);
  SSL_set_bio(server.get(), other, other);
  SSL_set_ex_data(client.get(), key_index(), &key);
  SSL_set_ex_data(server.get(), key_index(), &key);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (const net::TlsPtr* end : {&client, &server}) {
      if (SSL_do_handshake(end->get()) != 1) ERR_clear_error();
    }
  }
  char byte = 0;
  if (SSL_write(client.get(), &byte, 1) != 1 || SSL_read(server.get(), &byte, 1) != 1)
    ERR_clear_error();
}

SecureStream::SecureStream(Socket socket) : socket_(std::move(socket)) {}
SecureStream::~SecureStream() = default;

void SecureStream::secure(Side side, std::string_view secret) {
  SLUICE_CHECK(!secret.empty());
  tls_ = std::make_unique<Tls>(socket_, side, secret);
}

void SecureStream::shake_hands(std::function<void(const boost::system::error_code&)> done) {
  const auto type =
      tls_->side == Side::kConnected ? ssl::stream_base::client : ssl::stream_base::server;
  tls_->stream.async_handshake(
      type, [this, done = std::move(done)](const boost::system::error_code& error) {
        // by the key, and not by whatever else TLS knows
        if (!error && SSL_session_reused(tls_->stream.native_handle()) != 1)
          return done(boost::asio::error::access_denied);
        done(error);
      });
}

void SecureStream::read_secured(boost::asio::mutable_buffer room, Done done) {
  tls_->stream.async_read_some(room, std::move(done));
}

void SecureStream::write_secured(boost::asio::const_buffer bytes, Done done) {
  tls_->stream.async_write_some(bytes, std::move(done));
}

bool SecureStream::ended_by_peer(const boost::system::error_code& error) {
  namespace errors = boost::asio::error;
  return error == errors::eof || error == errors::connection_reset ||
         error == errors::broken_pipe || error == ssl::error::stream_truncated;
}

const char* SecureStream::why_no_handshake(const boost::system::error_code& error) {
  if (ended_by_peer(error))
    return "it closed the connection before TLS was set up: TLSType is not the same on both sides, or it does not have the step's key";
  const bool of_tls = error.category() == boost::asio::error::get_ssl_category();
  const int reason = of_tls ? ERR_GET_REASON(static_cast<unsigned long>(error.value())) : 0;
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)
    return "it does not speak TLS, which TLSType asks for here";
  return "it does not have the step's key";
}

}  // namespace sluice
