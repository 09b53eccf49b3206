#include "tests/mount/intended_differences.h"

namespace kvpagefs::mount_test {
namespace {

constexpr std::string_view kOldVersion = "readers keep the version they opened";
constexpr std::string_view kPrivate = "until it is sealed only its writer's process sees a file";
constexpr std::string_view kLongNames = "names have up to 1023 bytes";
constexpr std::string_view kNoLinks = "a page has one name; there are no links and no devices";
constexpr std::string_view kDense = "pages are dense";
constexpr std::string_view kXattrs = "64 KiB of attributes in all; other file systems have other limits";

constexpr IntendedDifference kRows[] = {
    {"OpenContract.OtherKinds: O_TMPFILE", "ok", "EOPNOTSUPP", "a page has a name from the start"},
    {"WriteContract.HolesReadAsZeros: SEEK_DATA from 0", kAnything, "0", kDense},
    {"WriteContract.HolesReadAsZeros: SEEK_HOLE from 0", kAnything, "1048579", kDense},
    {"VersionContract.ReadersKeepTheirVersion: reader sees old bytes while it is rewritten", "no", "yes", kOldVersion},
    {"VersionContract.ReadersKeepTheirVersion: reader sees old bytes after close", "no", "yes", kOldVersion},
    {"VersionContract.ReadersKeepTheirVersion: reader sees old bytes after truncate", "no", "yes", kOldVersion},
    {"VersionContract.ReadersKeepTheirVersion: reader sees old bytes after O_TRUNC", "no", "yes", kOldVersion},
    {"VersionContract.OtherProcessReadsTheOldOneUntilClose: other reads the old version", "no", "yes", kPrivate},
    {"VersionContract.OtherProcessReadsTheOldOneUntilClose: other's stat", "100", "100000", kPrivate},
    {"MapContract.MappingKeepsItsVersionDuringARewrite: mapping has the old bytes", "no", "yes", kOldVersion},
    {"RenameContract.Flags: EXCHANGE", "ok", "EINVAL", "two names never change places"},
    {"NamesContract.Lengths: create 256", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: stat 256", "ENAMETOOLONG", "7", kLongNames},
    {"NamesContract.Lengths: listed 256", "no", "yes", kLongNames},
    {"NamesContract.Lengths: rename 256", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: mkdir 256", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: rmdir 256", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: create 280", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: stat 280", "ENAMETOOLONG", "7", kLongNames},
    {"NamesContract.Lengths: listed 280", "no", "yes", kLongNames},
    {"NamesContract.Lengths: rename 280", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: mkdir 280", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: rmdir 280", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: create 1023", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: stat 1023", "ENAMETOOLONG", "7", kLongNames},
    {"NamesContract.Lengths: listed 1023", "no", "yes", kLongNames},
    {"NamesContract.Lengths: rename 1023", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: mkdir 1023", "ENAMETOOLONG", "ok", kLongNames},
    {"NamesContract.Lengths: rmdir 1023", "ENAMETOOLONG", "ok", kLongNames},
    {"StatContract.Statfs: f_namemax", kAnything, "1023", kLongNames},
    {"SpaceContract.FallocateOfHoles: PUNCH_HOLE", kAnything, "EOPNOTSUPP", kDense},
    {"SpaceContract.FallocateOfHoles: ZERO_RANGE", kAnything, "EOPNOTSUPP", kDense},
    {"SpaceContract.FallocateOfHoles: COLLAPSE_RANGE", kAnything, "EOPNOTSUPP", kDense},
    {"SpaceContract.FallocateOfHoles: INSERT_RANGE", kAnything, "EOPNOTSUPP", kDense},
    {"XattrContract.Sizes: 60000 bytes", kAnything, "ok", kXattrs},
    {"XattrContract.Sizes: 60000 bytes are back", kAnything, "yes", kXattrs},
    {"XattrContract.Sizes: 60000 bytes more", kAnything, "ENOSPC", kXattrs},
    {"XattrContract.Sizes: the second one", kAnything, "error:ENODATA", kXattrs},
    {"VisibilityContract.OtherProcessesSeeItAtClose: other's stat", "200000", "ENOENT", kPrivate},
    {"VisibilityContract.OtherProcessesSeeItAtClose: other's open", "ok", "ENOENT", kPrivate},
    {"VisibilityContract.OtherProcessesSeeItAtClose: other's access", "ok", "ENOENT", kPrivate},
    {"VisibilityContract.OtherProcessesSeeItAtClose: other's listing", "a", "", kPrivate},
    {"VisibilityContract.OtherProcessesSeeItAtClose: other's stat after the own one", "200000", "ENOENT", kPrivate},
    {"VisibilityContract.OtherProcessesSeeItAtClose: other's open after the own one", "ok", "ENOENT", kPrivate},
    {"LinksContract.Refused: link", "ok", "EPERM", kNoLinks},
    {"LinksContract.Refused: symlink", "ok", "EPERM", kNoLinks},
    {"LinksContract.Refused: mkfifo", "ok", "EPERM", kNoLinks},
    {"LinksContract.Refused: character device", kAnything, "EPERM", kNoLinks},
    {"LinksContract.Refused: block device", kAnything, "EPERM", kNoLinks},
    {"LinksContract.Refused: socket", "ok", "EPERM", kNoLinks},
    {"LinksContract.Refused: links", "2", "1", kNoLinks},
    {"LinksContract.Refused: listing", kAnything, "a", kNoLinks},
};

}  // namespace

std::span<const IntendedDifference> IntendedDifferences() { return kRows; }

}  // namespace kvpagefs::mount_test
