"""What every place must do that keeps personal feeds: the same promises for each.

The tests of one are a class that inherits from `PersonalContract` and has two fixtures:

    class TestOnTheDatabase(PersonalContract):
        @pytest.fixture
        async def store(self, database, virtual_clock) -> AsyncIterator[PersonalStore]: ...

        @pytest.fixture
        async def elsewhere(self, …) -> AsyncIterator[PersonalStore]:
            '''The same place, as another process has it open.'''
"""

from tests.support.personal_contract_changes import ChangePromises, CopyPromises
from tests.support.personal_contract_items import ItemPromises, RevisionPromises
from tests.support.personal_contract_readers import ReaderPromises


class PersonalContract(
    ReaderPromises, ItemPromises, RevisionPromises, ChangePromises, CopyPromises
):
    """All of them."""
